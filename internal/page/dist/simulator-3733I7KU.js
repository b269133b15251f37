import{b as o}from"./chunk-FM3EX45K.js";import{g as t}from"./chunk-IMV3K4CH.js";function m(r){return t(o,{title:"Simulator"})}export{m as Simulator};

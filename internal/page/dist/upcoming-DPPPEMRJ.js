import{b as o}from"./chunk-FM3EX45K.js";import{g as n}from"./chunk-IMV3K4CH.js";function m(i){return n(o,{title:"Upcoming"})}export{m as Upcoming};

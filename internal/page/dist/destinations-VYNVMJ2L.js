import{b as n}from"./chunk-FM3EX45K.js";import{g as t}from"./chunk-IMV3K4CH.js";function e(i){return t(n,{title:"Destinations"})}export{e as Destinations};

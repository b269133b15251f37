import{b as t}from"./chunk-FM3EX45K.js";import{g as o}from"./chunk-IMV3K4CH.js";function e(n){return o(t,{title:"Now"})}export{e as Now};

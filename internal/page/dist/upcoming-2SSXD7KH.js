import{c as o}from"./chunk-AO6QWUGW.js";import{g as n}from"./chunk-IMV3K4CH.js";function m(i){return n(o,{title:"Upcoming"})}export{m as Upcoming};

import{c as n}from"./chunk-AO6QWUGW.js";import{g as t}from"./chunk-IMV3K4CH.js";function a(o){return t(n,{title:"Task"})}export{a as Task};

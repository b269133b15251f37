import{c as e}from"./chunk-AO6QWUGW.js";import{g as r}from"./chunk-IMV3K4CH.js";function o(t){return r(e,{title:"Server"})}export{o as Server};

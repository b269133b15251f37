import{b as t}from"./chunk-FM3EX45K.js";import{g as e}from"./chunk-IMV3K4CH.js";function o(u){return e(t,{title:"Queues"})}export{o as Queues};

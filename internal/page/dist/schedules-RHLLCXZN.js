import{b as t}from"./chunk-FM3EX45K.js";import{g as e}from"./chunk-IMV3K4CH.js";function r(n){return e(t,{title:"Schedules"})}export{r as Schedules};

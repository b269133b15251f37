import{a as e}from"./chunk-GJXKGLWG.js";import{H as r,v as t}from"./chunk-GNGQBKQC.js";function f(i,s,m,n,o=t()){return e("entries",s,n,u=>r.in(o)({...i,...u},void 0,m))}export{f as a};

import{a as e}from"./chunk-6W54FRHL.js";import{I as r,w as t}from"./chunk-BNFRPGYO.js";function f(i,s,m,n,o=t()){return e("entries",s,n,u=>r.in(o)({...i,...u},void 0,m))}export{f as a};

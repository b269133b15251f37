import{a as e}from"./chunk-EGQ6QOHS.js";import{I as r,w as t}from"./chunk-BV3TJRWS.js";function f(i,s,m,n,o=t()){return e("entries",s,n,u=>r.in(o)({...i,...u},void 0,m))}export{f as a};

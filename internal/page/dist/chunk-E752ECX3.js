function g(e,r){let n=new Map;for(let o of e){let t=r(o),s=n.get(t);s?s.push(o):n.set(t,[o])}return n}export{g as a};

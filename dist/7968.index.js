import{modules as d}from"./87473.shared.js";const u=7968,p=[7968,3142],f={...d,61231:((c,a,r)=>{r.d(a,{Y:()=>i,Z:()=>_});var e=r(94686);function i(t){return t.toString().split(`
`).filter(n=>n.includes("	")).map(n=>{const[s="",o=""]=n.split("	");return{name:o,value:s}})}function _({stdout:t,stderr:n}){return[...t.toString().split(`
`).filter(o=>o.startsWith("!")).map(o=>o.split("	").at(-1)??""),(0,e.SW)(n)].join(`
`)}}),23142:((c,a,r)=>{r.d(a,{B:()=>_,R:()=>i});const e=new Set;async function i(t,n){const s={what:t,since:performance.now()};e.add(s);try{return await n()}finally{e.delete(s)}}function _(){const[t=null]=e;return t}})};export{u as id,p as ids,f as modules};

import{modules as p}from"./87473.shared.js";const d=5503,c=[5503],m={...p,61231:((l,e,o)=>{o.d(e,{Y:()=>a,Z:()=>_});var i=o(94686);function a(n){return n.toString().split(`
`).filter(t=>t.includes("	")).map(t=>{const[r="",s=""]=t.split("	");return{name:s,value:r}})}function _({stdout:n,stderr:t}){return[...n.toString().split(`
`).filter(s=>s.startsWith("!")).map(s=>s.split("	").at(-1)??""),(0,i.SW)(t)].join(`
`)}})};export{d as id,c as ids,m as modules};

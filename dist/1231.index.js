import{modules as m}from"./94686.shared.js";import{modules as p}from"./96936.shared.js";import{modules as _}from"./9277.shared.js";const h=1231,g=[1231,2305,9277],x={...m,...p,..._,61231:((l,n,r)=>{r.d(n,{Y:()=>a,Z:()=>d});var i=r(94686);function a(o){return o.toString().split(`
`).filter(t=>t.includes("	")).map(t=>{const[e="",s=""]=t.split("	");return{name:s,value:e}})}function d({stdout:o,stderr:t}){return[...o.toString().split(`
`).filter(s=>s.startsWith("!")).map(s=>s.split("	").at(-1)??""),(0,i.b_)(t)].join(`
`)}})};export{h as id,g as ids,x as modules};

import{modules as d}from"./76351.shared.js";import{modules as p}from"./94686.shared.js";import{modules as l}from"./96936.shared.js";import{modules as u}from"./9277.shared.js";const x=5753,E=[5753,2305,9277],O={...d,...p,...l,...u,61231:((_,n,r)=>{r.d(n,{Y:()=>i,Z:()=>m});var a=r(94686);function i(o){return o.toString().split(`
`).filter(s=>s.includes("	")).map(s=>{const[e="",t=""]=s.split("	");return{name:t,value:e}})}function m({stdout:o,stderr:s}){return[...o.toString().split(`
`).filter(t=>t.startsWith("!")).map(t=>t.split("	").at(-1)??""),(0,a.b_)(s)].join(`
`)}})};export{x as id,E as ids,O as modules};

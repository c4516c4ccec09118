import{modules as f}from"./43253.shared.js";import{modules as h}from"./78396.shared.js";import{modules as v}from"./8443.shared.js";const w=9565,O=[9565],D={...f,...h,...v,89565:((E,e,s)=>{s.d(e,{showAll:()=>d});var n=s(84842),l=s(43253),a=s(53004);async function d({json:m,...p},r){const u=o=>{r.error(`${(0,n.h0)(o,300)}
`)},_=await(0,a.M)({...p,log:u},r.now());r.out(m?`${JSON.stringify(_,null,2)}
`:(0,l.mp)(_));const t=[..._.problems,..._.lanes.flatMap(o=>o.kind==="lane"?[]:[`${o.lane}: ${o.why}`])];for(const o of t)r.error(`ralph status: ${o}
`);return t.length===0?"done":"failed"}})};export{w as id,O as ids,D as modules};

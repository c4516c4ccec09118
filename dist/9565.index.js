import{modules as c}from"./89741.shared.js";const M=9565,f=[9565],h={...c,89565:((u,e,s)=>{s.d(e,{showAll:()=>d});var n=s(84842),l=s(89741),a=s(53004);async function d({json:v,...p},_){const E=o=>{_.error(`${(0,n.h0)(o,300)}
`)},r=await(0,a.M)({...p,log:E},_.now());_.out(v?`${JSON.stringify(r,null,2)}
`:(0,l.mp)(r));const t=[...r.problems,...r.lanes.flatMap(o=>o.kind==="lane"?[]:[`${o.lane}: ${o.why}`])];for(const o of t)_.error(`ralph status: ${o}
`);return t.length===0?"done":"failed"}})};export{M as id,f as ids,h as modules};

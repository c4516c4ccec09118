import{modules as u}from"./78396.shared.js";import{modules as f}from"./89741.shared.js";import{modules as h}from"./8443.shared.js";const M=9565,O=[9565],D={...u,...f,...h,89565:((i,t,s)=>{s.d(t,{showAll:()=>d});var n=s(84842),l=s(89741),a=s(53004);async function d({json:m,...p},r){const v=o=>{r.error(`${(0,n.h0)(o,300)}
`)},_=await(0,a.M)({...p,log:v},r.now());r.out(m?`${JSON.stringify(_,null,2)}
`:(0,l.mp)(_));const e=[..._.problems,..._.lanes.flatMap(o=>o.kind==="lane"?[]:[`${o.lane}: ${o.why}`])];for(const o of e)r.error(`ralph status: ${o}
`);return e.length===0?"done":"failed"}})};export{M as id,O as ids,D as modules};

import{modules as h}from"./89741.shared.js";const w=9565,M=[9565],f={...h,89565:((E,n,s)=>{s.d(n,{showAll:()=>c});var e=s(84842),d=s(89741),a=s(53004);async function c({json:l,...v},r){const p=o=>{r.error(`${(0,e.Ic)(o,300)}
`)},_=await(0,a.M)({...v,log:p},r.now());r.out(l?`${JSON.stringify(_,null,2)}
`:(0,d.mp)(_));const t=[..._.problems,..._.branches.flatMap(o=>o.kind==="branch"?[]:[`${o.branchId}: ${o.why}`])];for(const o of t)r.error(`ralph status: ${o}
`);return t.length===0?"done":"failed"}})};export{w as id,M as ids,f as modules};

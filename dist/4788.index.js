const e=4788,n=[4788],i={74788:((t,s,c)=>{c.r(s),c.d(s,{accessOf:()=>d});const d=o=>({kind:"direct",environment:o})})};export{e as id,n as ids,i as modules};

const M={83702:((y,s,o)=>{o.d(s,{KA:()=>u,VX:()=>r,c1:()=>w,hC:()=>h});var f=o(77598),c=o(51455),d=o(76760),E=o(20010);const m=1024*1024*1024;async function r(n,a=m){return(0,E.gc)(n,async(e,{size:i,mode:t,mtimeMs:l})=>i>a?null:{bytes:await e.readFile(),mode:t&511,mtimeMs:l}).catch(()=>null)}async function w(n){const a=await(0,c.realpath)(n).catch(()=>null);return a===null?null:r(a)}async function u(n,a,{mode:e,seconds:i}={}){const t=`${n}.${(0,f.randomUUID)()}`;await(0,c.writeFile)(t,a,{flag:"wx",mode:e===void 0?438:384});try{e!==void 0&&await(0,c.chmod)(t,e),i!==void 0&&await(0,c.utimes)(t,i,i),await(0,c.rename)(t,n).catch(async()=>{await(0,c.rm)(n,{recursive:!0,force:!0}),await(0,c.rename)(t,n)})}catch(l){throw await(0,c.rm)(t,{force:!0}),l}}const _=`
[gc]
	auto = 0
[maintenance]
	auto = false
`,T=1024*1024;async function h(n){const a=(0,d.join)(n,".git","config"),e=await r(a,T).catch(()=>null),i=e?.bytes.toString("latin1")??"";if(e===null||!i.includes(_))return;const{mode:t}=e;await u(a,Buffer.from(i.replaceAll(_,""),"latin1"),{mode:t}).catch(()=>{})}})};export{M as modules};

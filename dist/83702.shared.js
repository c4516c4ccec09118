const y={83702:((h,s,i)=>{i.d(s,{KA:()=>u,VU:()=>w,VX:()=>r,hC:()=>g});var f=i(77598),o=i(51455),d=i(76760),E=i(20010);const m=1024*1024*1024;async function r(n,a=m){return(0,E.gc)(n,async(e,{size:c,mode:t,mtimeMs:l})=>c>a?null:{bytes:await e.readFile(),mode:t&511,mtimeMs:l}).catch(()=>null)}async function w(n){const a=await(0,o.realpath)(n).catch(()=>null);return a===null?null:r(a)}async function u(n,a,{mode:e,seconds:c}={}){const t=`${n}.${(0,f.randomUUID)()}`;await(0,o.writeFile)(t,a,{flag:"wx",mode:e===void 0?438:384});try{e!==void 0&&await(0,o.chmod)(t,e),c!==void 0&&await(0,o.utimes)(t,c,c),await(0,o.rename)(t,n).catch(async()=>{await(0,o.rm)(n,{recursive:!0,force:!0}),await(0,o.rename)(t,n)})}catch(l){throw await(0,o.rm)(t,{force:!0}),l}}const _=`
[gc]
	auto = 0
[maintenance]
	auto = false
`,T=1024*1024;async function g(n){const a=(0,d.join)(n,".git","config"),e=await r(a,T).catch(()=>null),c=e?.bytes.toString("latin1")??"";if(e===null||!c.includes(_))return;const{mode:t}=e;await u(a,Buffer.from(c.replaceAll(_,""),"latin1"),{mode:t}).catch(()=>{})}})};export{y as modules};

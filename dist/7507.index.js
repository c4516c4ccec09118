import{modules as B}from"./64792.shared.js";const U=7507,W=[7507],J={...B,71040:((L,h,a)=>{a.d(h,{de:()=>f,i5:()=>P,iD:()=>g,im:()=>l,uf:()=>I,wN:()=>R,xV:()=>j});var A=a(50157),u=a(11035),r=a(43322);const $=2e4,l=120,M=40,m=2e3;function g(t){const e=_(t).filter(o=>!w(o)),[n="",...s]=e.slice(e.findIndex(o=>o!=="")),i=T(s);return[f(n),(0,r.uo)((0,r.m3)((0,r.Nc)(C(i))),m)].filter(o=>o!=="").join(`

`)}function f(t){const e=_(t).join(" ").replace(/\s+/g," ").trim();return(0,r.uo)((0,r.m3)((0,r.Nc)((0,r.Jj)(e,4*l))),l)}function R(t){const e=(0,A.s0)(t);return t.source.kind==="issue"?e:(0,r.D4)(e,l)}function j(t){const{title:e,name:n,summary:s,earlier:i,attempt:o}=t,d=p(s),c=i.some(v=>p(v)===d)?"":d,y=c===""?o>1?`${e} (iteration ${o})`:e:c,N=c===""?`Part of ${n}`:`Part of ${n}: ${e}`;return`${y}

${N}`}function p(t){return f(O(t))}function O(t){const e=t.trim().split(`
`)[0]??"";return(/^.*?[^.\s][.!?](?=\s)/.exec(e)?.[0]??e).replace(/\.$/,"")}function _(t){const e=(0,u.Kw)((0,u.y1)((0,r.Jj)(t,$).toWellFormed().replace(r.UY,"")));let n="",s=0;for(const{start:i,end:o}of(0,u.s)(e))n+=e.slice(s,i),s=o;return(n+e.slice(s)).split(`
`).map(i=>i.replaceAll("	","  ").trimEnd())}function w(t){return/^\s*(?:::|##\[|<!--|!\[)|^\s*-{3,}(?:\s|$)|-{4,}\s*(?:>8|8<)|^\s*#?\s*(?:skip|request)-checks\s*:/i.test(t)}const D=/^\s*(?:[a-z\d]+(?:-[a-z\d]+)+|cc|bcc|bug|see|ref|refs|link)\s*[:=](?:\s|$)|^\s*\(cherry picked from /i,E=/^[a-z\d-]+\s*[:=]/i;function T(t){const e=[];let n=!1;for(const i of t)n=D.test(i)||n&&/^\s+\S/.test(i),n||e.push(i);const s=e.join(`
`).split(/\n{2,}/).map(i=>i.replace(/^\n+|\n+$/g,"")).filter(i=>i!=="");for(;b(s.at(-1));)s.pop();return s.join(`

`)}function b(t){if(t===void 0)return!1;const e=t.split(`
`);return E.test(e[0]??"")&&e.every(n=>E.test(n)||/^\s/.test(n))}function C(t){return(0,r.Jj)(t.split(`
`).slice(0,M).join(`
`),m).trimEnd()}function I(t,{names:e,coAuthors:n}){const s=t.trimEnd().split(/\n{2,}/);return(s.length>1?(s.pop()??"").split(`
`):[]).find(c=>!k(c,n))!==void 0?"its trailers are not those of this run":s.flatMap(c=>c.split(`
`)).some(c=>x(S(c,e)))?"its message mentions, closes or steers something":null}function P(t){const e=t.trimEnd().split(/\n{2,}/).slice(1).at(-1);return/^Ralph-Task: ([\w.-]+)$/m.exec(e??"")?.[1]??null}function k(t,e){const[,n="",s=""]=/^([A-Za-z-]+): (.*)$/.exec(t)??[];return n==="Co-authored-by"?e.includes(s):/^Ralph-(?:Run|Iteration|Task)$/.test(n)&&/^[\w.-]+$/.test(s)}function S(t,e){const n=e.find(s=>t===`Part of ${s}`||t.startsWith(`Part of ${s}: `));return n===void 0?t:t.slice(`Part of ${n}`.length)}function x(t){return/@(?=[a-z\d])|#(?=\d)|\bgh-(?=\d)|:\/\/(?=\S)|www(?=\.)/i.test(t)||(0,r.ff)(t)||/[\p{Cc}\u202A-\u202E\u2066-\u2069]/u.test(t)}})};export{U as id,W as ids,J as modules};

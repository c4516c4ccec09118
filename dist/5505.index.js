import{modules as B}from"./16340.shared.js";import{modules as z}from"./7631.shared.js";const Y=5505,H=[5505],K={...B,...z,71040:((U,$,a)=>{a.d($,{Lk:()=>E,Nw:()=>b,Zi:()=>C,de:()=>f,iD:()=>R,ik:()=>T,im:()=>l,uf:()=>y});var h=a(50157),u=a(11035),r=a(43322);const g=2e4,l=120,M=40,d=2e3;function R(t){const e=_(t).filter(o=>!O(o)),[n="",...i]=e.slice(e.findIndex(o=>o!=="")),s=k(i);return[f(n),(0,r.yA)((0,r.m3)((0,r.Nc)(S(s))),d)].filter(o=>o!=="").join(`

`)}function f(t){const e=_(t).join(" ").replace(/\s+/g," ").trim();return(0,r.yA)((0,r.m3)((0,r.Nc)((0,r.IN)(e,4*l))),l)}function T(t){const e=(0,h.s0)(t);return t.source.kind==="issue"?e:(0,r.Q0)(e,l)}function b(t){const{title:e,name:n,summary:i,earlier:s,attempt:o}=t,c=p(i),m=s.some(x=>p(x)===c)?"":c,L=m===""?o>1?`${e} (iteration ${o})`:e:m,v=m===""?`Part of ${n}`:`Part of ${n}: ${e}`;return`${L}

${v}`}function p(t){return f(I(t))}function I(t){const e=t.trim().split(`
`)[0]??"";return(/^.*?[^.\s][.!?](?=\s)/.exec(e)?.[0]??e).replace(/\.$/,"")}function _(t){const e=(0,u.TM)((0,u.Zt)((0,r.IN)(t,g).toWellFormed().replace(r.UY,"")));let n="",i=0;for(const{start:s,end:o}of(0,u.s)(e))n+=e.slice(i,s),i=o;return(n+e.slice(i)).split(`
`).map(s=>s.replaceAll("	","  ").trimEnd())}function O(t){return/^\s*(?:::|##\[|<!--|!\[)|^\s*-{3,}(?:\s|$)|-{4,}\s*(?:>8|8<)|^\s*#?\s*(?:skip|request)-checks\s*:/i.test(t)}const j=/^\s*(?:[a-z\d]+(?:-[a-z\d]+)+|cc|bcc|bug|see|ref|refs|link)\s*[:=](?:\s|$)|^\s*\(cherry picked from /i,A=/^[a-z\d-]+\s*[:=]/i;function k(t){const e=[];let n=!1;for(const s of t)n=j.test(s)||n&&/^\s+\S/.test(s),n||e.push(s);const i=e.join(`
`).split(/\n{2,}/).map(s=>s.replace(/^\n+|\n+$/g,"")).filter(s=>s!=="");for(;N(i.at(-1));)i.pop();return i.join(`

`)}function N(t){if(t===void 0)return!1;const e=t.split(`
`);return A.test(e[0]??"")&&e.every(n=>A.test(n)||/^\s/.test(n))}function S(t){return(0,r.IN)(t.split(`
`).slice(0,M).join(`
`),d).trimEnd()}function E(t){return{"Signed-off-by":`${t.name} <${t.email}>`}}function y(t,e){const n=t.trimEnd().split(/\n{2,}/);return(n.length>1?(n.pop()??"").split(`
`):[]).find(c=>!D(c,e))!==void 0?"its trailers are not those of this run":n.flatMap(c=>c.split(`
`)).some(c=>w(P(c,e.names)))?"its message mentions, closes or steers something":null}function C(t){const e=t.trimEnd().split(/\n{2,}/).slice(1).at(-1);return/^Ralph-Task: ([\w.-]+)$/m.exec(e??"")?.[1]??null}function D(t,{coAuthors:e,identity:n}){const[,i="",s=""]=/^([A-Za-z-]+): (.*)$/.exec(t)??[];return i==="Co-authored-by"?e.includes(s):E(n)[i]===s||/^Ralph-(?:Run|Iteration|Task)$/.test(i)&&/^[\w.-]+$/.test(s)}function P(t,e){const n=e.find(i=>t===`Part of ${i}`||t.startsWith(`Part of ${i}: `));return n===void 0?t:t.slice(`Part of ${n}`.length)}function w(t){return/@(?=[a-z\d])|#(?=\d)|\bgh-(?=\d)|:\/\/(?=\S)|www(?=\.)/i.test(t)||(0,r.ff)(t)||/[\p{Cc}\u202A-\u202E\u2066-\u2069]/u.test(t)}})};export{Y as id,H as ids,K as modules};

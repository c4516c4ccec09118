import{modules as L}from"./16340.shared.js";import{modules as z}from"./7631.shared.js";const X=5505,H=[5505],K={...L,...z,71040:((U,$,a)=>{a.d($,{Nw:()=>T,YR:()=>E,Zi:()=>D,de:()=>f,iD:()=>R,ik:()=>O,im:()=>l,uf:()=>C});var h=a(50157),u=a(11035),i=a(43322);const g=2e4,l=120,M=40,d=2e3;function R(t){const e=_(t).filter(o=>!b(o)),[n="",...r]=e.slice(e.findIndex(o=>o!=="")),s=N(r);return[f(n),(0,i.yA)((0,i.m3)((0,i.Nc)(y(s))),d)].filter(o=>o!=="").join(`

`)}function f(t){const e=_(t).join(" ").replace(/\s+/g," ").trim();return(0,i.yA)((0,i.m3)((0,i.Nc)((0,i.IN)(e,4*l))),l)}function O(t){const e=(0,h.s0)(t);return t.source.kind==="issue"?e:(0,i.Q0)(e,l)}function T(t){const{title:e,name:n,summary:r,earlier:s,attempt:o}=t,c=p(r),m=s.some(B=>p(B)===c)?"":c,v=m===""?o>1?`${e} (iteration ${o})`:e:m,x=m===""?`Part of ${n}`:`Part of ${n}: ${e}`;return`${v}

${x}`}function p(t){return f(I(t))}function I(t){const e=t.trim().split(`
`)[0]??"";return(/^.*?[^.\s][.!?](?=\s)/.exec(e)?.[0]??e).replace(/\.$/,"")}function _(t){const e=(0,u.TM)((0,u.Zt)((0,i.IN)(t,g).toWellFormed().replace(i.UY,"")));let n="",r=0;for(const{start:s,end:o}of(0,u.s)(e))n+=e.slice(r,s),r=o;return(n+e.slice(r)).split(`
`).map(s=>s.replaceAll("	","  ").trimEnd())}function b(t){return/^\s*(?:::|##\[|<!--|!\[)|^\s*-{3,}(?:\s|$)|-{4,}\s*(?:>8|8<)|^\s*#?\s*(?:skip|request)-checks\s*:/i.test(t)}const j=/^\s*(?:[a-z\d]+(?:-[a-z\d]+)+|cc|bcc|bug|see|ref|refs|link)\s*[:=](?:\s|$)|^\s*\(cherry picked from /i,A=/^[a-z\d-]+\s*[:=]/i;function N(t){const e=[];let n=!1;for(const s of t)n=j.test(s)||n&&/^\s+\S/.test(s),n||e.push(s);const r=e.join(`
`).split(/\n{2,}/).map(s=>s.replace(/^\n+|\n+$/g,"")).filter(s=>s!=="");for(;k(r.at(-1));)r.pop();return r.join(`

`)}function k(t){if(t===void 0)return!1;const e=t.split(`
`);return A.test(e[0]??"")&&e.every(n=>A.test(n)||/^\s/.test(n))}function y(t){return(0,i.IN)(t.split(`
`).slice(0,M).join(`
`),d).trimEnd()}function E(t){return{"Signed-off-by":`${t.name} <${t.email}>`}}function C(t,e){const n=t.trimEnd().split(/\n{2,}/);return(n.length>1?(n.pop()??"").split(`
`):[]).find(c=>!P(c,e))!==void 0?"its trailers are not those of this run":n.flatMap(c=>c.split(`
`)).some(c=>w(S(c,e.names)))?"its message mentions, closes or steers something":null}function D(t){const e=t.trimEnd().split(/\n{2,}/).slice(1).at(-1);return/^Ralph-Task: ([\w.-]+)$/m.exec(e??"")?.[1]??null}function P(t,{coAuthors:e,identity:n}){const[,r="",s=""]=/^([A-Za-z-]+): (.*)$/.exec(t)??[];return r==="Co-authored-by"?e.includes(s):E(n)[r]===s||/^Ralph-(?:Run|Iteration|Task)$/.test(r)&&/^[\w.-]+$/.test(s)}function S(t,e){const n=e.find(r=>t===`Part of ${r}`||t.startsWith(`Part of ${r}: `));return n===void 0?t:t.slice(`Part of ${n}`.length)}function w(t){return/@(?=[a-z\d])|#(?=\d)|\bgh-(?=\d)|:\/\/(?=\S)|www(?=\.)/i.test(t)||(0,i.ff)(t)||/[\p{Cc}\u202A-\u202E\u2066-\u2069]/u.test(t)}})};export{X as id,H as ids,K as modules};

import{modules as L}from"./16340.shared.js";import{modules as z}from"./11035.shared.js";import{modules as U}from"./7631.shared.js";const K=5505,Z=[5505,1035,3416,2625,5006],F={...L,...z,...U,71040:((W,E,a)=>{a.d(E,{Nw:()=>T,YR:()=>A,Zi:()=>D,de:()=>f,iD:()=>R,ik:()=>O,im:()=>l,uf:()=>C});var $=a(50157),u=a(11035),i=a(43322);const g=2e4,l=120,M=40,d=2e3;function R(t){const e=_(t).filter(o=>!b(o)),[s="",...r]=e.slice(e.findIndex(o=>o!=="")),n=N(r);return[f(s),(0,i.yA)((0,i.m3)((0,i.Nc)(y(n))),d)].filter(o=>o!=="").join(`

`)}function f(t){const e=_(t).join(" ").replace(/\s+/g," ").trim();return(0,i.yA)((0,i.m3)((0,i.Nc)((0,i.IN)(e,4*l))),l)}function O(t){const e=(0,$.s0)(t);return t.source.kind==="issue"?e:(0,i.Q0)(e,l)}function T(t){const{title:e,name:s,summary:r,earlier:n,attempt:o}=t,c=p(r),m=n.some(B=>p(B)===c)?"":c,v=m===""?o>1?`${e} (iteration ${o})`:e:m,x=m===""?`Part of ${s}`:`Part of ${s}: ${e}`;return`${v}

${x}`}function p(t){return f(I(t))}function I(t){const e=t.trim().split(`
`)[0]??"";return(/^.*?[^.\s][.!?](?=\s)/.exec(e)?.[0]??e).replace(/\.$/,"")}function _(t){const e=(0,u.TM)((0,u.Zt)((0,i.IN)(t,g).toWellFormed().replace(i.UY,"")));let s="",r=0;for(const{start:n,end:o}of(0,u.s)(e))s+=e.slice(r,n),r=o;return(s+e.slice(r)).split(`
`).map(n=>n.replaceAll("	","  ").trimEnd())}function b(t){return/^\s*(?:::|##\[|<!--|!\[)|^\s*-{3,}(?:\s|$)|-{4,}\s*(?:>8|8<)|^\s*#?\s*(?:skip|request)-checks\s*:/i.test(t)}const j=/^\s*(?:[a-z\d]+(?:-[a-z\d]+)+|cc|bcc|bug|see|ref|refs|link)\s*[:=](?:\s|$)|^\s*\(cherry picked from /i,h=/^[a-z\d-]+\s*[:=]/i;function N(t){const e=[];let s=!1;for(const n of t)s=j.test(n)||s&&/^\s+\S/.test(n),s||e.push(n);const r=e.join(`
`).split(/\n{2,}/).map(n=>n.replace(/^\n+|\n+$/g,"")).filter(n=>n!=="");for(;k(r.at(-1));)r.pop();return r.join(`

`)}function k(t){if(t===void 0)return!1;const e=t.split(`
`);return h.test(e[0]??"")&&e.every(s=>h.test(s)||/^\s/.test(s))}function y(t){return(0,i.IN)(t.split(`
`).slice(0,M).join(`
`),d).trimEnd()}function A(t){return{"Signed-off-by":`${t.name} <${t.email}>`}}function C(t,e){const s=t.trimEnd().split(/\n{2,}/);return(s.length>1?(s.pop()??"").split(`
`):[]).find(c=>!P(c,e))!==void 0?"its trailers are not those of this run":s.flatMap(c=>c.split(`
`)).some(c=>w(S(c,e.names)))?"its message mentions, closes or steers something":null}function D(t){const e=t.trimEnd().split(/\n{2,}/).slice(1).at(-1);return/^Ralph-Task: ([\w.-]+)$/m.exec(e??"")?.[1]??null}function P(t,{coAuthors:e,identity:s}){const[,r="",n=""]=/^([A-Za-z-]+): (.*)$/.exec(t)??[];return r==="Co-authored-by"?e.includes(n):A(s)[r]===n||/^Ralph-(?:Run|Iteration|Task)$/.test(r)&&/^[\w.-]+$/.test(n)}function S(t,e){const s=e.find(r=>t===`Part of ${r}`||t.startsWith(`Part of ${r}: `));return s===void 0?t:t.slice(`Part of ${s}`.length)}function w(t){return/@(?=[a-z\d])|#(?=\d)|\bgh-(?=\d)|:\/\/(?=\S)|www(?=\.)/i.test(t)||(0,i.ff)(t)||/[\p{Cc}\u202A-\u202E\u2066-\u2069]/u.test(t)}})};export{K as id,Z as ids,F as modules};

import{modules as L}from"./78571.shared.js";import{modules as z}from"./11035.shared.js";import{modules as U}from"./7631.shared.js";const K=1194,F=[1194,1035,3416,2625,5006],G={...L,...z,...U,71040:((W,E,a)=>{a.d(E,{YR:()=>A,de:()=>f,i5:()=>P,iD:()=>R,im:()=>l,uf:()=>N,wN:()=>O,xV:()=>I});var $=a(50157),u=a(11035),i=a(43322);const g=2e4,l=120,M=40,d=2e3;function R(t){const e=_(t).filter(o=>!b(o)),[n="",...r]=e.slice(e.findIndex(o=>o!=="")),s=y(r);return[f(n),(0,i.yA)((0,i.m3)((0,i.Nc)(C(s))),d)].filter(o=>o!=="").join(`

`)}function f(t){const e=_(t).join(" ").replace(/\s+/g," ").trim();return(0,i.yA)((0,i.m3)((0,i.Nc)((0,i.IN)(e,4*l))),l)}function O(t){const e=(0,$.s0)(t);return t.source.kind==="issue"?e:(0,i.D4)(e,l)}function I(t){const{title:e,name:n,summary:r,earlier:s,attempt:o}=t,c=p(r),m=s.some(B=>p(B)===c)?"":c,x=m===""?o>1?`${e} (iteration ${o})`:e:m,v=m===""?`Part of ${n}`:`Part of ${n}: ${e}`;return`${x}

${v}`}function p(t){return f(T(t))}function T(t){const e=t.trim().split(`
`)[0]??"";return(/^.*?[^.\s][.!?](?=\s)/.exec(e)?.[0]??e).replace(/\.$/,"")}function _(t){const e=(0,u.TM)((0,u.y1)((0,i.IN)(t,g).toWellFormed().replace(i.UY,"")));let n="",r=0;for(const{start:s,end:o}of(0,u.s)(e))n+=e.slice(r,s),r=o;return(n+e.slice(r)).split(`
`).map(s=>s.replaceAll("	","  ").trimEnd())}function b(t){return/^\s*(?:::|##\[|<!--|!\[)|^\s*-{3,}(?:\s|$)|-{4,}\s*(?:>8|8<)|^\s*#?\s*(?:skip|request)-checks\s*:/i.test(t)}const j=/^\s*(?:[a-z\d]+(?:-[a-z\d]+)+|cc|bcc|bug|see|ref|refs|link)\s*[:=](?:\s|$)|^\s*\(cherry picked from /i,h=/^[a-z\d-]+\s*[:=]/i;function y(t){const e=[];let n=!1;for(const s of t)n=j.test(s)||n&&/^\s+\S/.test(s),n||e.push(s);const r=e.join(`
`).split(/\n{2,}/).map(s=>s.replace(/^\n+|\n+$/g,"")).filter(s=>s!=="");for(;D(r.at(-1));)r.pop();return r.join(`

`)}function D(t){if(t===void 0)return!1;const e=t.split(`
`);return h.test(e[0]??"")&&e.every(n=>h.test(n)||/^\s/.test(n))}function C(t){return(0,i.IN)(t.split(`
`).slice(0,M).join(`
`),d).trimEnd()}function A(t){return{"Signed-off-by":`${t.name} <${t.email}>`}}function N(t,e){const n=t.trimEnd().split(/\n{2,}/);return(n.length>1?(n.pop()??"").split(`
`):[]).find(c=>!S(c,e))!==void 0?"its trailers are not those of this run":n.flatMap(c=>c.split(`
`)).some(c=>k(w(c,e.names)))?"its message mentions, closes or steers something":null}function P(t){const e=t.trimEnd().split(/\n{2,}/).slice(1).at(-1);return/^Ralph-Task: ([\w.-]+)$/m.exec(e??"")?.[1]??null}function S(t,{coAuthors:e,identity:n}){const[,r="",s=""]=/^([A-Za-z-]+): (.*)$/.exec(t)??[];return r==="Co-authored-by"?e.includes(s):A(n)[r]===s||/^Ralph-(?:Run|Iteration|Task)$/.test(r)&&/^[\w.-]+$/.test(s)}function w(t,e){const n=e.find(r=>t===`Part of ${r}`||t.startsWith(`Part of ${r}: `));return n===void 0?t:t.slice(`Part of ${n}`.length)}function k(t){return/@(?=[a-z\d])|#(?=\d)|\bgh-(?=\d)|:\/\/(?=\S)|www(?=\.)/i.test(t)||(0,i.ff)(t)||/[\p{Cc}\u202A-\u202E\u2066-\u2069]/u.test(t)}})};export{K as id,F as ids,G as modules};

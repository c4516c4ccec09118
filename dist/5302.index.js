import{modules as o}from"./85302.shared.js";const t=5302,e=[5302],r={...o};export{t as id,e as ids,r as modules};

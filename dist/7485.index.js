import{modules as o}from"./87485.shared.js";const t=7485,e=[7485,9866],r={...o};export{t as id,e as ids,r as modules};

import{modules as o}from"./94009.shared.js";const t=4009,e=[4009],r={...o};export{t as id,e as ids,r as modules};

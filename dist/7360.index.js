import{modules as o}from"./87360.shared.js";const t=7360,e=[7360],r={...o};export{t as id,e as ids,r as modules};

import{modules as o}from"./24354.shared.js";const t=4354,e=[4354],r={...o};export{t as id,e as ids,r as modules};

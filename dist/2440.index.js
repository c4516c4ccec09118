import{modules as o}from"./72440.shared.js";const t=2440,e=[2440],r={...o};export{t as id,e as ids,r as modules};

import{modules as o}from"./38065.shared.js";const t=8065,e=[8065],r={...o};export{t as id,e as ids,r as modules};

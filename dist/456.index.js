import{modules as o}from"./29660.shared.js";const t=456,e=[456],r={...o};export{t as id,e as ids,r as modules};

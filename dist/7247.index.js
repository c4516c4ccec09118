import{modules as o}from"./58292.shared.js";const t=7247,e=[7247],r={...o};export{t as id,e as ids,r as modules};

import{modules as o}from"./45081.shared.js";const t=7462,e=[7462,5081],r={...o};export{t as id,e as ids,r as modules};

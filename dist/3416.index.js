import{modules as o}from"./11035.shared.js";const t=3416,e=[3416,1035,2625,5006],r={...o};export{t as id,e as ids,r as modules};

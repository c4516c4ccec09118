import{modules as o}from"./11035.shared.js";const t=1035,e=[1035,3416,2625,5006],r={...o};export{t as id,e as ids,r as modules};

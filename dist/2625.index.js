import{modules as o}from"./11035.shared.js";const t=2625,e=[2625,1035,3416,5006],r={...o};export{t as id,e as ids,r as modules};

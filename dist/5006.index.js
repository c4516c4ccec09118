import{modules as o}from"./11035.shared.js";const t=5006,e=[5006,1035,3416,2625],r={...o};export{t as id,e as ids,r as modules};

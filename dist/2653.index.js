import{modules as o}from"./22653.shared.js";const t=2653,e=[2653],r={...o};export{t as id,e as ids,r as modules};

import{modules as o}from"./76351.shared.js";const t=6351,e=[6351],r={...o};export{t as id,e as ids,r as modules};

import{modules as o}from"./87485.shared.js";const t=9866,e=[9866,7485],r={...o};export{t as id,e as ids,r as modules};

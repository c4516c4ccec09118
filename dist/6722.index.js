import{modules as o}from"./4341.shared.js";const t=6722,e=[6722,4341],r={...o};export{t as id,e as ids,r as modules};

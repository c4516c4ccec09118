import{modules as o}from"./4341.shared.js";const t=4341,e=[4341],r={...o};export{t as id,e as ids,r as modules};

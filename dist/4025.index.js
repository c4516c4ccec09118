import{modules as o}from"./14025.shared.js";const t=4025,e=[4025],r={...o};export{t as id,e as ids,r as modules};

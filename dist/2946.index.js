import{modules as o}from"./91522.shared.js";const t=2946,e=[2946],r={...o};export{t as id,e as ids,r as modules};

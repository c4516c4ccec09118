import{modules as o}from"./67353.shared.js";import{modules as s}from"./84554.shared.js";const t=7353,d=[7353],m={...o,...s};export{t as id,d as ids,m as modules};

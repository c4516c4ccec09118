import{modules as o}from"./89770.shared.js";import{modules as s}from"./84554.shared.js";const t=9770,d=[9770],m={...o,...s};export{t as id,d as ids,m as modules};

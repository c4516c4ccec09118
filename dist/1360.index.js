import{modules as o}from"./47537.shared.js";import{modules as s}from"./71360.shared.js";const t=1360,d=[1360,7537],m={...o,...s};export{t as id,d as ids,m as modules};

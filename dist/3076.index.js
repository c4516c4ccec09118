import{modules as o}from"./11566.shared.js";import{modules as s}from"./76351.shared.js";const t=3076,d=[3076],m={...o,...s};export{t as id,d as ids,m as modules};

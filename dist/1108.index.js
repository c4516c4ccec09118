import{modules as o}from"./91108.shared.js";import{modules as s}from"./47296.shared.js";const t=1108,d=[1108,7296],m={...o,...s};export{t as id,d as ids,m as modules};
